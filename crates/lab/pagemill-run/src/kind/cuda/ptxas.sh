#!/bin/sh
# Stands in for the PTX assembler: pagemill executes PTX, so what goes in comes out.
in= out=
while [ $# -gt 0 ]; do
    case $1 in
    --version)
        echo 'ptxas: stand-in of pagemill, which executes PTX'
        echo 'Cuda compilation tools, release 12.9, V12.9.86'
        exit 0 ;;
    -o | --output-file)
        out=$2
        shift ;;
    --opt-level | --gpu-name | -arch | -O | --maxrregcount) shift ;;
    -*) ;;
    *) in=$1 ;;
    esac
    shift
done
# XLA hands on the file as it is, and the text of a module ends with a NUL.
{ cat -- "$in" && printf '\000'; } >"${out:-elf.o}"
