"""The text room: words in English and Chinese, phrases and HPO ids → findings."""
