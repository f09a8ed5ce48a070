// Starts a daemon and dies, so that the daemon's parent is init and nothing leads back to us.
import { spawn } from 'node:child_process'

spawn(process.execPath, [process.argv[2]], {
  stdio: ['ignore', 'inherit', 'inherit'],
  detached: true,
}).unref()
