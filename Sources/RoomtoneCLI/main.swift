print("roomtone")
