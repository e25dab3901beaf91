// Validates the API description in the file of the first argument.
import { createRequire } from "node:module";

const require = createRequire(`${process.cwd()}/`);
const parser = require("@apidevtools/swagger-parser");
await parser.validate(process.argv[2]);
