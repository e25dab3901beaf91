policy X { allow }
