// Starts a daemon and dies, so that the daemon's parent is init and nothing leads back to us. The daemon says that it is
// there when we are gone: until then there is one process more than those that stay.
import { spawn } from 'node:child_process'

spawn(process.execPath, [process.argv[2], 'orphan-of', String(process.pid)], {
  stdio: ['ignore', 'inherit', 'inherit'],
  detached: true,
}).unref()
