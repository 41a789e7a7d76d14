"""Operations on whole maps."""
