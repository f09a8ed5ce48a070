// Reads the workspace for the boundary rules: packages with their manifests and scanned source files.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { scan } from './scan.mjs'

/** Every package that pnpm-workspace.yaml names. Paths are relative to `root`, with forward slashes. */
export function readWorkspace(root) {
  return packageFolders(root).map(folder => readPackage(root, folder))
}

/** The dependencies of the repository itself, which every package finds; none without a manifest. */
export function readRootManifest(root) {
  const file = path.join(root, 'package.json')
  const manifest = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  return { dependencies: {}, ...manifest }
}

function packageFolders(root) {
  const listed = readFileSync(path.join(root, 'pnpm-workspace.yaml'), 'utf8').match(
    /^packages:\n((?: *- .*\n?)+)/m,
  )
  const patterns = (listed?.[1] ?? '').split('\n').flatMap(line => line.match(/- ["']?([^"'\s]+)/)?.[1] ?? [])
  const folders = patterns.flatMap(pattern =>
    pattern.endsWith('/*') ? childFolders(root, pattern.slice(0, -2)) : [pattern],
  )
  return folders.filter(folder => existsSync(path.join(root, folder, 'package.json')))
}

function childFolders(root, parent) {
  if (!existsSync(path.join(root, parent))) return []
  return readdirSync(path.join(root, parent), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(entry => `${parent}/${entry.name}`)
    .sort()
}

function readPackage(root, folder) {
  const manifestText = readFileSync(path.join(root, folder, 'package.json'), 'utf8')
  const files = sourceFiles(path.join(root, folder)).map(file => readSource(root, folder, file))
  return { folder, manifestText, manifest: JSON.parse(manifestText), files }
}

function readSource(root, folder, file) {
  const inPackage = file.split(path.sep).join('/')
  const inSrc = inPackage.startsWith('src/')
  const source = readFileSync(path.join(root, folder, file), 'utf8')
  return {
    path: `${folder}/${inPackage}`,
    inSrc,
    // Shipped code, in contrast to tests and benchmarks, may not use devDependencies.
    ships: inSrc && !/\.(test|bench)\.[a-z]+$/.test(inPackage),
    source,
    ...scan(source),
  }
}

function sourceFiles(folder, under = '') {
  const entries = readdirSync(path.join(folder, under), { withFileTypes: true })
  return entries.flatMap(entry => {
    const file = path.join(under, entry.name)
    if (entry.isDirectory()) return isSourceFolder(folder, file) ? sourceFiles(folder, file) : []
    return /\.[cm]?[jt]sx?$/.test(entry.name) ? [file] : []
  })
}

function isSourceFolder(folder, under) {
  const name = path.basename(under)
  if (name === 'node_modules' || name === 'dist' || name.startsWith('.')) return false
  // A nested package, such as a captured project, is checked separately.
  return !existsSync(path.join(folder, under, 'package.json'))
}
