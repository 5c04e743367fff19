#!/bin/sh
# Bundles and minifies the browser files: the scripts and style sheets below become
# files of the same name in assets/dist, which are committed.
set -eu
cd "$(dirname "$0")"
script() { go tool esbuild "js/$1.js" --bundle --minify --target=es2022 --charset=utf8 --legal-comments=none --log-level=warning "--outfile=dist/$2.js" "--format=$3"; }
style() { go tool esbuild "css/$1.css" --bundle --minify --target=chrome120,firefox121,safari17.4 \
  --charset=utf8 --external:*.woff2 --external:*.svg --log-level=warning "--outfile=dist/$1.css"; }
script main app iife
script palette palette esm
script slash slash esm
script tools tools esm
script grip grip esm
script share share iife
script diagram diagram iife
script notify notify esm
script rowmenu rowmenu esm
script gaps gaps esm
script enter enter esm
script edit edit esm
script preview preview esm
script trail trail esm
script voice voice esm
script paste paste esm
script glide glide esm
script account account iife
script browse browse esm
script apps apps esm
script stay stay esm
script jump jump esm
script ask ask esm
style app
style pages
style palette
style slash
style tools
style files
style hello
style cards
style account
style browse
style diagram
style insight
style compare
