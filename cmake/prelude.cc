// A library has a file: this one is of the precompiled headers of prelude.h.
