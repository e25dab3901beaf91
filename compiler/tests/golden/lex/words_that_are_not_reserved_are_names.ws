score reason where between allow block review approve deny alert count sum hour_of_day within match
