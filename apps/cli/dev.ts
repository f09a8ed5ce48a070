// The command from its sources, for `npm run dev`.
import { main } from './src/main.ts'

process.exit(await main(process.argv.slice(2)))
