"""The experiments of Golab & Özsu 2003: joins of sliding windows by nested loops and hash buckets."""
