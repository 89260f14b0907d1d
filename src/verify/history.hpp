#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

/// What clients did that contended, as they wrote it down themselves.
namespace holdfast::verify {

/// Nanoseconds of CLOCK_BOOTTIME: the same for all processes of the machine.
using Instant = std::int64_t;
Instant now();

/// How a visit ended. `unknown`: it was not written down.
enum class Ending : std::uint8_t {
    unknown,
    released,
    busy,     ///< or given up; it held nothing
    failed,   ///< by an error
    overdue,  ///< lost: the store was not heard of in time
    ended,    ///< lost: the store knows of no such hold
};

/// How one attempt at a resource went on, as far as it was written down.
struct Visit {
    /// Names the attempt, CLIENT/THREAD/NUMBER; that of several resources has one for each.
    std::string who;
    std::string resource;
    std::uint64_t weight = 0;
    std::uint64_t capacity = 0;
    Instant lease = 0;
    Instant patience = 0;  ///< how long it would wait; negative: as long as it takes
    std::uint64_t fence = 0;
    Instant asked = 0;     ///< before the request was made
    Instant sent = 0;      ///< when what admitted it was asked for; nought: not known
    Instant admitted = 0;  ///< when it was known to hold; nought: never
    Instant trusted = 0;   ///< the last time that it was seen to be held
    Instant ended = 0;     ///< released, lost, busy or failed; nought: never, or not written down
    Ending ending = Ending::unknown;

    bool was_admitted() const { return admitted != 0; }
    bool was_lost() const { return ending == Ending::overdue || ending == Ending::ended; }
};

/// The client of a visit, by its name.
std::string client_of(const Visit& visit);

/// Something that must not be, as the one who saw it wrote it down.
struct Complaint {
    Instant at = 0;
    std::string what;
};

/// How an attempt failed.
struct Failure {
    Instant at = 0;
    int code = 0;  ///< of holdfast::errc
    std::string sentence;
};

struct History {
    std::vector<Visit> visits;
    std::vector<Complaint> complaints;
    std::vector<Failure> failures;

    /// What others wrote down at the same time. In no order.
    void append(History other);
};

/// One client's part of a history, in a file that it alone writes: each line at once, so that
/// nothing but the last is missing when its process is killed.
/// Threads: all members may be called from any thread.
class Journal {
public:
    explicit Journal(const std::filesystem::path& file);
    /// In a file that is open already; it is closed with this object.
    explicit Journal(int descriptor) : file_(descriptor) {}
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    void asked(const Visit& visit);
    void admitted(const Visit& visit);
    void trusted(const Visit& visit);
    void ended(const Visit& visit);
    void complain(const std::string& what);
    void failed(int code, const std::string& sentence);

private:
    void write(const std::string& line);

    int file_;
};

/// Of these journals. What its process did not finish writing is left out.
History read_history(std::span<const std::filesystem::path> journals);
/// Of all journals in the folder.
History read_history(const std::filesystem::path& folder);

}  // namespace holdfast::verify
