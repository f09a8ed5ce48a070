// Takes the arguments of bubblewrap and makes no cage: a cage that is on and holds nothing.
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const args = process.argv.slice(2)
const inside = '/run/chirality'
const sockets = args[args.indexOf(inside) - 1]
const [shell, script, ...command] = args.slice(args.indexOf('--') + 1)
const launch = path.join(sockets, path.basename(script))
writeFileSync(launch, readFileSync(launch, 'utf8').replaceAll(inside, sockets))
const child = spawn(shell, [launch, ...command], { stdio: [0, 1, 2, 3] })
child.on('exit', code => process.exit(code ?? 1))
