// Package compat keeps the tested client in the module graph.
package compat

import _ "github.com/twmb/franz-go/pkg/kgo"
