// The standard headers that most files include: parsed once a build instead of 500
// times, which is a third of its time. They are precompiled, never included by name;
// every file still includes what it uses, and Lockstep as a sub-project builds without
// this one, every night, to prove it.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
