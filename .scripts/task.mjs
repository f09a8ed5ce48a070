// `npm run <task>`: sets up if needed, then runs the task with turbo in every package that has it.
import { setup, turbo } from './setup.mjs'

await setup()
process.exitCode = await turbo(process.argv.slice(2), { logs: 'full' })
