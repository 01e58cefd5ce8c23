// Reading and writing whole files; nothing is ever left half written.
#ifndef LOCKSTEP_VERIFY_BASE_IO_FILES_H_
#define LOCKSTEP_VERIFY_BASE_IO_FILES_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::verify {

// Contents of a regular file of at most `max_bytes`; nothing is allocated for
// a larger one. What says it has 0 bytes is read to its end: files of /proc do.
Result<std::vector<uint8_t>> ReadWholeFile(const std::string& path,
                                           size_t max_bytes);

// Everything below a folder that is no folder. Errors: one that cannot be read;
// what it holds would be missed.
Result<std::vector<std::string>> FilesBelow(const std::string& folder);

// Whether `path` is a device, a pipe or a socket, or lies below /dev or /proc:
// bytes are written into it, and nothing takes its place.
bool IsStream(const std::string& path);

// The file that `path` names: of a link, its target.
std::filesystem::path TargetOf(const std::string& path);

// Holds an output to what `path` is now. From here on WhereWritten and IsStream
// answer as of now, and writing to `path` follows no link that another program
// puts there, and opens no pipe. Errors: a stream that cannot be opened.
Status HoldOutput(const std::string& path);

// The file that writing to `path` replaces: its target in the folder as it was
// when the output was held, or TargetOf.
std::filesystem::path WhereWritten(const std::string& path);

// Takes text piece by piece; false: it cannot, and wants no more.
using Sink = std::function<bool(std::string_view)>;
// Hands text to a sink. Errors: its own; what the sink could not take is none.
using Producer = std::function<Status(const Sink&)>;

// Writes into a file without a name, which then takes that of `path`; of a
// link, that of its target. On error `path` is as it was. A process that is
// killed leaves nothing beside it, unless `path` was there before, or the file
// system has no files without a name. Then PATH.tmpPID.N may stay until the
// next process writes to `path`. Into a stream: straight.
Status WriteFileAtomically(const std::string& path, const Producer& produce);
Status WriteFileAtomically(const std::string& path, std::string_view bytes);

// Opens a file without a name in `folder`, to write and read; -1 where that
// cannot be.
int OpenNameless(const std::string& folder);

// All of `bytes` into a descriptor.
bool WriteAll(int fd, std::string_view bytes);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_IO_FILES_H_
