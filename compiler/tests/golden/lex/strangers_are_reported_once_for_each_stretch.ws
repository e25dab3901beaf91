a §§§ b ☺ c
