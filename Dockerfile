# The command scaledjob: a static binary, a user who is not root, and certificates for
# explain on a cluster. make image-check runs the build without a container engine.
FROM golang:1.26 AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 GOWORK=off go build -C cmd/scaledjob -trimpath -ldflags '-s -w' -o /scaledjob .

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /scaledjob /scaledjob
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/scaledjob"]
