// Roomtone
