"""Operations: their derivatives (`linear`, `scalar`, `special`), and what calls do by name (`calls`)."""
