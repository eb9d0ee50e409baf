"""Contract types: plain values that every part of Vardy may import. No I/O."""
