#pragma once

#include <unistd.h>

namespace holdfast::test {

/// One T for the whole process, made on first use and ended at exit. A forked child sees it, but
/// it stays the parent's: the child does not end it.
template <class T>
class ProcessWide {
public:
    static T& get() {
        static ProcessWide only;
        return *object_;
    }

private:
    ProcessWide() { object_ = new T; }
    ~ProcessWide() {
        if (getpid() == maker_) delete object_;
    }

    static inline T* object_ = nullptr;
    pid_t maker_ = getpid();
};

}  // namespace holdfast::test
