#pragma once

/// Marks what the shared library shows to its users; everything else is hidden.
#define HOLDFAST_EXPORT __attribute__((visibility("default")))
