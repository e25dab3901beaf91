rule
﻿name
