// A machine joins from a process of its own, because it is in a network namespace. Its argument is a `Joining`.
import { type Joining, joinsFleet } from './joins-fleet.ts'

await joinsFleet(JSON.parse(process.argv[2] ?? '') as Joining)
process.exit()
