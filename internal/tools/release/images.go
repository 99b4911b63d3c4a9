package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// manifests are the files that name images, in the tree of a commit.
var manifests = []string{"controllers/*/manifests/tenant/*.yaml", "controllers/*/config/tenant/*.yaml"}

var (
	imageLine = regexp.MustCompile(`(?m)( image: )([\w-]+)(:v[\w.-]+)`)
	digested  = regexp.MustCompile(`^[\w./:-]+@sha256:[0-9a-f]{64}$`)
)

// parseImages reads NAME=REGISTRY/NAME@sha256:DIGEST.
func parseImages(args []string) (map[string]string, error) {
	images := map[string]string{}
	for _, arg := range args {
		name, image, _ := strings.Cut(arg, "=")
		if !digested.MatchString(image) {
			return nil, fmt.Errorf("image %q: use NAME=REGISTRY/NAME@sha256:DIGEST", arg)
		}
		images[name] = image
	}
	return images, nil
}

// setImages sets the images of the manifests: with a digest if there is one, else with the tag of the
// version. It returns the images without digest.
func (r *repository) setImages(ctx context.Context, tree, version string, images map[string]string) (tagged []string, err error) {
	used := map[string]bool{}
	for _, pattern := range manifests {
		files, err := filepath.Glob(filepath.Join(tree, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			name, err := filepath.Rel(tree, file)
			if err != nil {
				return nil, err
			}
			err = r.edit(ctx, tree, filepath.ToSlash(name), func(data []byte) ([]byte, error) {
				return imageLine.ReplaceAllFunc(data, func(line []byte) []byte {
					found := imageLine.FindStringSubmatch(string(line))
					used[found[2]] = true
					if image, ok := images[found[2]]; ok {
						return []byte(found[1] + image)
					}
					tagged = append(tagged, found[2])
					return []byte(found[1] + found[2] + ":" + version)
				}), nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(images)) {
		if !used[name] {
			return nil, fmt.Errorf("image %q: no manifest has it", name)
		}
	}
	slices.Sort(tagged)
	return slices.Compact(tagged), nil
}
