std = "lua54"
max_line_length = 110
-- The shipped definitions describe modules; they are read by tools and never run.
exclude_files = { "stdlib/meta" }
