// One function per rule: (package, workspace) to a list of { file, line, message }.
import { builtinModules } from 'node:module'
import path from 'node:path'
import { lineAt } from './scan.mjs'

const MAX_FILE_LINES = 400
const PROCESS_ENV_FILE = 'packages/runner/src/process/system/process-env.ts'
// The only file that other packages may import by path, in benchmarks only; core does not publish it.
const BENCH_REPORT_FILE = 'packages/core/bench/report.ts'

// The allowed dependencies. A package that is missing here is a violation, so that each new one is placed
// deliberately.
const DOWN = {
  'packages/core': [],
  'packages/scripted-model': [],
  'packages/runner': ['packages/core'],
  'packages/conformance': ['packages/core', 'packages/runner', 'packages/scripted-model'],
  'packages/personas': ['packages/core'],
  'packages/workspaces': ['packages/core', 'packages/runner'],
  'packages/sessions': ['packages/core', 'packages/runner', 'packages/personas', 'packages/workspaces'],
  'packages/loops': [
    'packages/core',
    'packages/runner',
    'packages/personas',
    'packages/workspaces',
    'packages/sessions',
  ],
  'packages/fleet': ['packages/core', 'packages/runner', 'packages/sessions', 'packages/workspaces'],
  'packages/server': [
    'packages/core',
    'packages/runner',
    'packages/personas',
    'packages/workspaces',
    'packages/sessions',
    'packages/loops',
    'packages/conformance',
  ],
  fixtures: ['packages/core', 'packages/scripted-model'],
}
const FOR_TESTS = ['fixtures', 'packages/scripted-model']

export const rules = [
  direction,
  declared,
  serverTypes,
  exported,
  cycles,
  processEnv,
  harnessIds,
  nativeShapes,
  fileLength,
]

/** A manifest lists only packages below its own; tests may also use the fixtures and the scripted model. */
function direction(pkg, workspace) {
  if (!isApp(pkg) && DOWN[pkg.folder] === undefined)
    return [at(pkg, 0, `${pkg.folder} has no place in the dependency order (.scripts/boundaries/rules.mjs)`)]
  return ['dependencies', 'optionalDependencies', 'peerDependencies', 'devDependencies'].flatMap(section =>
    Object.keys(pkg.manifest[section] ?? {}).flatMap(name => {
      const target = workspace.find(other => other.manifest.name === name)
      if (target === undefined || mayDependOn(pkg, target, section)) return []
      const index = pkg.manifestText.indexOf(`"${name}"`, pkg.manifestText.indexOf(`"${section}"`))
      return [at(pkg, index, `${pkg.manifest.name} must not depend on ${name}: dependencies point one way`)]
    }),
  )
}

function mayDependOn(pkg, target, section) {
  if (section === 'devDependencies' && FOR_TESTS.includes(target.folder)) return true
  if (isApp(pkg)) return !isApp(target) && target.folder !== 'fixtures'
  return DOWN[pkg.folder].includes(target.folder)
}

/** Every import is declared in the manifest, and shipped code does not use a devDependency. */
function declared(pkg) {
  const { dependencies, optionalDependencies, peerDependencies, devDependencies } = pkg.manifest
  const shipped = new Set(Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }))
  const anywhere = new Set([...shipped, ...Object.keys(devDependencies ?? {}), pkg.manifest.name])
  return everyImport(pkg, (file, { specifier, line, clause }) => {
    const name = packageName(specifier)
    if (name === undefined || (isApp(pkg) && isTypeImport(clause))) return
    if (!anywhere.has(name))
      return { file, line, message: `imports ${name}, which package.json does not declare` }
    if (!file.ships || shipped.has(name)) return
    const why = name === pkg.manifest.name ? 'its own package by name' : 'which is only a devDependency'
    return { file, line, message: `imports ${name}, ${why}` }
  })
}

/** The dashboard imports only types of the server: a single value import would put the whole server into the bundle. */
function serverTypes(pkg) {
  if (pkg.folder !== 'apps/web') return []
  return everyImport(pkg, (file, { specifier, line, clause }) => {
    if (!file.inSrc || packageName(specifier) !== '@chirality/server' || isTypeImport(clause)) return
    return { file, line, message: `imports values of ${specifier}: only types may` }
  })
}

/** Packages import each other by their exports only: no path into a package, no subpath that it does not export. */
function exported(pkg, workspace) {
  return everyImport(pkg, (file, { specifier, line }) => {
    if (specifier.startsWith('/'))
      return { file, line, message: `imports ${specifier}: an absolute path is this machine's` }
    if (isRelative(specifier)) {
      const target = path.posix.join(path.posix.dirname(file.path), specifier)
      const owner = workspace.find(other => target.startsWith(`${other.folder}/`))
      if (owner === undefined || owner === pkg) return
      if (target === BENCH_REPORT_FILE && file.path.startsWith(`${pkg.folder}/bench/`)) return
      return { file, line, message: `reaches into ${owner.manifest.name} by path: import its name` }
    }
    const owner = workspace.find(other => other.manifest.name === packageName(specifier))
    if (owner === undefined || offers(owner.manifest, specifier)) return
    return { file, line, message: `imports ${specifier}, which ${owner.manifest.name} does not export` }
  })
}

function offers({ name, exports = '.' }, specifier) {
  const subpath = `.${specifier.slice(name.length)}`
  const keys = typeof exports === 'object' ? Object.keys(exports) : []
  const subpaths = keys.some(key => key.startsWith('.')) ? keys : ['.']
  return subpaths.some(key => {
    const [before, after] = key.split('*')
    return after === undefined ? key === subpath : subpath.startsWith(before) && subpath.endsWith(after)
  })
}

/**
 * No file imports itself through others: with a cycle the load order is undefined. `import()` is allowed, because it
 * loads when it is called.
 */
function cycles(pkg) {
  const files = new Map(pkg.files.map(file => [file.path, file]))
  const done = new Set()
  const trail = []
  const found = []
  for (const file of pkg.files) visit(file)
  return found

  function visit(file) {
    if (done.has(file)) return
    trail.push(file)
    for (const { specifier, line, clause } of file.imports) {
      if (/^import\s*\(/.test(clause)) continue
      const target = isRelative(specifier) ? resolve(file, specifier) : undefined
      const start = target === undefined ? -1 : trail.indexOf(target)
      if (start !== -1)
        found.push({ file, line, message: `import cycle: ${arrows([...trail.slice(start), target])}` })
      else if (target !== undefined) visit(target)
    }
    trail.pop()
    done.add(file)
  }

  function resolve(from, specifier) {
    const target = path.posix.join(path.posix.dirname(from.path), specifier)
    const endings = ['', '.ts', '.tsx', '/index.ts', '/index.tsx']
    return files.get(endings.map(ending => target + ending).find(candidate => files.has(candidate)))
  }
}

function arrows(files) {
  return files.map(file => file.path).join(' → ')
}

/** The environment is read in one file, so that one place decides what a child process receives. */
function processEnv(pkg) {
  if (!/^(packages|apps)\//.test(pkg.folder)) return []
  const reads = pkg.files.filter(file => file.ships && file.path !== PROCESS_ENV_FILE)
  return reads.flatMap(file => {
    const indexes = ENV_READS.flatMap(pattern => [...file.code.matchAll(pattern)].map(match => match.index))
    const named = file.imports.filter(
      ({ specifier, clause }) => isProcess(specifier) && /[{,]\s*env\b/.test(clause),
    )
    const lines = [...indexes.map(index => lineAt(file.code, index)), ...named.map(({ line }) => line)]
    return [...new Set(lines)].map(line => ({
      file,
      line,
      message: `reads process.env: only ${PROCESS_ENV_FILE} may`,
    }))
  })
}

// Strings are blanked here, so `process['env']` appears as `process['   ']`.
const ENV_READS = [
  /\bprocess\s*\??\.\s*env\b/g,
  /\bprocess\s*(?:\?\.)?\[\s*(['"`]) {3}\1/g,
  /[{,]\s*env\b[^{}=]*\}\s*=\s*(?:globalThis\s*\.\s*)?process\b(?!\s*[.[(?])/g,
]

function isProcess(specifier) {
  return specifier === 'node:process' || specifier === 'process'
}

/**
 * An agent's id occurs only in its harness's folder, which describes it, and in the folder of its translator in core,
 * which the dashboard uses without the runner: no other table, branch or message names it.
 */
function harnessIds(pkg, workspace) {
  if (!/^(packages|apps)\//.test(pkg.folder) || FOR_TESTS.includes(pkg.folder)) return []
  const ids = workspace.flatMap(({ files }) =>
    files.flatMap(file => file.path.match(HARNESS_DESCRIPTOR)?.[1] ?? []),
  )
  if (ids.length === 0) return []
  const named = new RegExp(`(?<![\\w./@-])(${ids.join('|')})(?![\\w./-])`)
  const key = new RegExp(`(?<![\\w.'"-])(${ids.filter(id => !id.includes('-')).join('|')})\\s*:`, 'g')
  const elsewhere = pkg.files.filter(file => file.ships && !isOfHarness(file.path, ids))
  return elsewhere.flatMap(file => {
    const lines = [
      ...file.texts.flatMap(({ text, line }) => (named.test(text ?? '') ? [line] : [])),
      ...[...file.code.matchAll(key)].map(({ index }) => lineAt(file.code, index)),
    ]
    const message = 'names a harness by its id: read it from the descriptor or meta() of the harness'
    return [...new Set(lines)].map(line => ({ file, line, message }))
  })
}

const HARNESS_DESCRIPTOR = /^packages\/runner\/src\/([a-z0-9-]+)\/descriptor\.ts$/

function isOfHarness(file, ids) {
  return (
    ids.some(id => file.startsWith(`packages/runner/src/${id}/`)) ||
    /^packages\/core\/src\/(translate|native)\/[a-z-]+\//.test(file)
  )
}

/**
 * The native shape of an agent's calls is known only to its translator and its own folder; other code uses the facts of
 * a call.
 */
function nativeShapes(pkg) {
  if (!/^(packages|apps)\//.test(pkg.folder) || KNOWS_SHAPES.includes(pkg.folder)) return []
  // The demo writes a model's answers, and the export player is built from core.
  const files = pkg.files.filter(
    file => file.ships && !/^apps\/cli\/src\/demo\/|\.generated\.ts$/.test(file.path),
  )
  return files.flatMap(file => {
    const lines = [
      ...file.texts.flatMap(({ text, line }) => (NATIVE_FIELD.test(text ?? '') ? [line] : [])),
      ...[...file.code.matchAll(new RegExp(NATIVE_FIELD, 'g'))].map(({ index }) => lineAt(file.code, index)),
    ]
    const message = "reads a field of an agent's own calls: take factsOf, editsOf or todosOf of core"
    return [...new Set(lines)].map(line => ({ file, line, message }))
  })
}

const KNOWS_SHAPES = ['packages/core', 'packages/runner', 'packages/scripted-model']
const NATIVE_FIELD =
  /\b(?:old_string|new_string|replace_all|file_path|notebook_path|tool_use_id|aggregated_?[oO]utput|move_path)\b/

function fileLength(pkg) {
  const long = pkg.files.filter(file => file.lines > MAX_FILE_LINES)
  return long.map(file => ({
    file,
    line: MAX_FILE_LINES + 1,
    message: `has ${file.lines} lines: split it, ${MAX_FILE_LINES} is the cap`,
  }))
}

function everyImport(pkg, check) {
  return pkg.files.flatMap(file => file.imports.flatMap(found => check(file, found) ?? []))
}

/** The package that a bare specifier names; undefined for a path, a subpath import, a builtin or a `virtual:` id. */
function packageName(specifier) {
  if (isRelative(specifier) || /^([/#]|[\w-]+:)/.test(specifier)) return undefined
  const parts = specifier.split('/')
  const name = specifier.startsWith('@') ? parts.slice(0, 2).join('/') : parts[0]
  return builtinModules.includes(name) ? undefined : name
}

function isTypeImport(clause) {
  return /^\s*(import|export)\s+type\b/.test(clause)
}

function isRelative(specifier) {
  return /^\.\.?(\/|$)/.test(specifier)
}

function isApp(pkg) {
  return pkg.folder.startsWith('apps/')
}

function at(pkg, index, message) {
  return { file: { path: `${pkg.folder}/package.json` }, line: lineAt(pkg.manifestText, index), message }
}
