#pragma once

#include <string>

namespace holdfast::cli {

/// One line of the terminal at standard error, that is written again and again. Nothing where
/// standard error is no terminal, or is another job's.
class TerminalLine {
public:
    TerminalLine();
    /// Leaves the line empty again.
    ~TerminalLine();
    TerminalLine(const TerminalLine&) = delete;
    TerminalLine& operator=(const TerminalLine&) = delete;

    /// Whether anything is ever shown.
    bool on_terminal() const noexcept { return on_terminal_; }
    /// As much of the text as stays on one line.
    void show(const std::string& text);

private:
    bool on_terminal_;
    bool shown_ = false;
};

/// Whether the terminal at standard error is ours to write to.
bool in_foreground();

}  // namespace holdfast::cli
