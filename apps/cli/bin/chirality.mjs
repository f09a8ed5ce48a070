#!/usr/bin/env node
import { main } from '../dist/main.js'

// Not left to the event loop: taking the heap down in order costs as long as loading the program did.
process.exit(await main(process.argv.slice(2)))
