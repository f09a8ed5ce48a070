// Before and after packing: the built dashboard goes along with the command, as the folder `dashboard`.
import { cpSync, existsSync, rmSync } from 'node:fs'
import path from 'node:path'

const built = path.join(import.meta.dirname, '..', 'web', 'dist')
const copy = path.join(import.meta.dirname, 'dashboard')

rmSync(copy, { recursive: true, force: true })
if (process.argv[2] !== 'remove') {
  if (!existsSync(path.join(built, 'index.html'))) {
    process.stderr.write('The dashboard is not built. Run `npm run pack` in the root of the repository.\n')
    process.exit(1)
  }
  cpSync(built, copy, { recursive: true })
}
