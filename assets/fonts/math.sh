#!/bin/sh
# Makes the fonts of formulas from STIX Two Math, which its licence allows under the same
# name: math.woff2 has what most formulas need, mathletters.woff2 the rarer alphabets. It
# wants the font as its argument (stix-two-math-latin-400-normal.woff2 of the npm package
# @fontsource/stix-two-math) and pyftsubset of fonttools with brotli.
set -eu
font=$1
cd "$(dirname "$0")"
subset() { pyftsubset "$font" --flavor=woff2 --no-hinting --layout-features= --name-IDs=0,1,2,4,5,6,13,14 "--output-file=$1" "--unicodes=$2"; }
subset math.woff2 "U+20-7E,U+A0-BE,U+C0-FF,U+131,U+237,U+300-338,U+391-3A9,U+3B1-3C9,U+3D1,U+3D5,U+3D6,U+3DC,U+3DD,\
U+3F0,U+3F1,U+3F4,U+3F5,U+2010-201F,U+2020-2026,U+2032-2037,U+2039,U+203A,U+2057,U+2061-2064,U+20D0-20EF,U+2100-214F,\
U+2190-22FF,U+2308-230B,U+231C-231F,U+2322,U+2323,U+2329,U+232A,U+23B0,U+23B1,U+23B4,U+23B5,U+23D0,U+23DC-23E1,\
U+25A0-25FF,U+2605,U+2660-2667,U+266D-266F,U+2713,U+2720,U+27C2,U+27E6-27EF,U+27F5-27FF,U+2900-290F,U+2980-2998,\
U+29EB,U+29F5,U+2A00-2A3F,U+2A5E,U+2A6E,U+2A7D-2ACC,U+1D400-1D467,U+1D6A4,U+1D6A5,U+1D6E2-1D71B"
subset mathletters.woff2 "U+1D468-1D6A3,U+1D6A8-1D6E1,U+1D71C-1D7FF"
