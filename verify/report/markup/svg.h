// Pieces of pictures: what pictures in files and on pages have in common.
#ifndef LOCKSTEP_VERIFY_REPORT_MARKUP_SVG_H_
#define LOCKSTEP_VERIFY_REPORT_MARKUP_SVG_H_

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::verify {

// Hundredths of a pixel are enough, and the same text everywhere.
std::string SvgPixels(double x);

// `attributes`: markup, such as "fill=\"#fff\"".
std::string SvgRect(double x, double y, double right, double bottom,
                    const std::string& attributes);
std::string SvgLine(double x1, double y1, double x2, double y2,
                    const std::string& attributes = "");
// `anchor`: "start", "middle" or "end". `text`: plain.
std::string SvgLabel(double x, double y, const char* anchor,
                     const std::string& text);

// 0, the multiples of a round number, and the end, no two nearer than 60
// pixels; a power of two where the length is a multiple of eight.
std::vector<int64_t> SvgTicks(int64_t length, double pixels);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_MARKUP_SVG_H_
