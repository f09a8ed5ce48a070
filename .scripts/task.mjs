// `npm run <task>`: set up if needed, then let turbo run the task in every package that has it.
import { setup, turbo } from './setup.mjs'

await setup()
process.exitCode = await turbo(process.argv.slice(2), { logs: 'full' })
