// Runs in the package's folder before it is packed.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'

// `npm pack` keeps the manifest unchanged, with versions that exist only in this workspace.
if (!process.env.npm_config_user_agent?.startsWith('pnpm/')) {
  process.stderr.write(
    'This package is packed by `npm run pack` in the root of the repository: npm alone would leave `workspace:` versions in it.\n',
  )
  process.exit(1)
}

// Removes the build output of renamed or deleted sources, which the compiler leaves and which would be shipped.
const sources = new Set(readdirSync('src', { recursive: true }).map(file => path.resolve('src', file)))
for (const file of readdirSync('dist', { recursive: true })) {
  const map = path.resolve('dist', file)
  if (!map.endsWith('.map')) continue
  const written = JSON.parse(readFileSync(map, 'utf8'))
  const isStale =
    written.sourcesContent === undefined &&
    !written.sources.every(source => sources.has(path.resolve(path.dirname(map), source)))
  if (isStale) for (const output of [map, map.slice(0, -'.map'.length)]) rmSync(output, { force: true })
}
