// Runs before the first paint, so that a page in the chosen theme never flashes in the other one.
import { readStored } from "./storage";

const stored = readStored("tollgate.theme");
const isDark = stored === null ? matchMedia("(prefers-color-scheme: dark)").matches : stored === "dark";
document.documentElement.dataset.theme = isDark ? "dark" : "light";
