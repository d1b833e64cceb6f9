"""NumPy functions as TDSL programs: `translate.Translator` translates, `verification.compare` compares with NumPy."""
