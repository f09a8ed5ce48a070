// `npm run pack`: packs every public package as a tarball in .packed, for `npm install` or `npm publish`. Uses pnpm,
// because `npm pack` would leave `workspace:` and `catalog:` versions in the manifests, which cannot be installed.
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { root, run, say, setup, turbo } from './setup.mjs'

const packed = path.join(root, '.packed')

await setup()
say('Building')
const packages = publicPackages()
if ((await turbo(['build'])) !== 0) process.exit(1)
rmSync(packed, { recursive: true, force: true })
mkdirSync(packed)
const filters = packages.map(({ name }) => `--filter=${name}`)
const code = await run('pnpm', [...filters, 'pack', `--pack-destination=${packed}`], {
  stdio: ['ignore', 'ignore', 'inherit'],
})
for (const name of readdirSync(packed)) process.stdout.write(`${path.join('.packed', name)}\n`)
process.exitCode = code

function publicPackages() {
  return ['packages', 'apps']
    .flatMap(group => readdirSync(path.join(root, group)).map(name => path.join(root, group, name)))
    .map(folder => JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')))
    .filter(manifest => !manifest.private)
}
