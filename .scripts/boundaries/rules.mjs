// One function per rule: (package, workspace, manifest of the repository) to a list of { file, line, message }.
import { builtinModules } from 'node:module'
import path from 'node:path'
import { DISK_FOLDER, DISK_WRITERS } from './disk-writers.mjs'
import { CAREFUL_READER, FILE_READERS } from './file-readers.mjs'
import { lineAt } from './scan.mjs'

const MAX_FILE_LINES = 600
const ANY_SIGNAL_FILE = 'packages/runner/src/common/any-signal.ts'
const PROCESS_ENV_FILE = 'packages/runner/src/process/system/process-env.ts'
// The second runs `ps` where there is no /proc, to which the first would be a cycle. The third is a process of its own, which
// the first starts in place of a caged program.
const START_FILES = [
  'packages/runner/src/process/program/start-program.ts',
  'packages/runner/src/process/system/process-table.ts',
  'packages/cage/src/keeper/keeper.mjs',
]
// The only file that other packages may import by path, in benchmarks only; core does not publish it.
const BENCH_REPORT_FILE = 'packages/core/bench/report.ts'

// The allowed dependencies. A package that is missing here is a violation, so that each new one is placed
// deliberately.
const DOWN = {
  'packages/core': [],
  'packages/disk': ['packages/core'],
  'packages/cage': ['packages/core', 'packages/disk'],
  'packages/scripted-model': [],
  'packages/runner': ['packages/core', 'packages/disk', 'packages/cage'],
  'packages/conformance': ['packages/core', 'packages/disk', 'packages/runner', 'packages/scripted-model'],
  'packages/personas': ['packages/core', 'packages/disk'],
  'packages/workspaces': ['packages/core', 'packages/disk', 'packages/runner'],
  'packages/sessions': [
    'packages/core',
    'packages/disk',
    'packages/runner',
    'packages/personas',
    'packages/workspaces',
  ],
  'packages/loops': [
    'packages/core',
    'packages/disk',
    'packages/runner',
    'packages/personas',
    'packages/workspaces',
    'packages/sessions',
  ],
  'packages/fleet': [
    'packages/centre',
    'packages/core',
    'packages/disk',
    'packages/runner',
    'packages/sessions',
    'packages/workspaces',
  ],
  'packages/centre': [
    'packages/core',
    'packages/disk',
    'packages/runner',
    'packages/personas',
    'packages/workspaces',
    'packages/sessions',
    'packages/loops',
    'packages/conformance',
  ],
  'packages/server': [
    'packages/core',
    'packages/disk',
    'packages/runner',
    'packages/personas',
    'packages/workspaces',
    'packages/sessions',
    'packages/loops',
    'packages/conformance',
    'packages/centre',
  ],
  'packages/client': ['packages/core', 'packages/server'],
  fixtures: ['packages/core', 'packages/scripted-model'],
}
const FOR_TESTS = ['fixtures', 'packages/scripted-model']
// Packages that only the tests of a package start: they make the server that its client calls.
const IN_TESTS_OF = { 'packages/client': ['packages/runner'] }

export const rules = [
  direction,
  declared,
  smallInstall,
  serverTypes,
  exported,
  cycles,
  processEnv,
  lostTimeouts,
  programStarts,
  fileReads,
  diskWrites,
  promiseChains,
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
  const forTests = [...FOR_TESTS, ...(IN_TESTS_OF[pkg.folder] ?? [])]
  if (section === 'devDependencies' && forTests.includes(target.folder)) return true
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

/**
 * `npm start` installs no devDependencies, and pnpm links an optional peer only where it is one: the build of what it
 * starts finds such a package among the repository's own dependencies, or fails.
 */
function smallInstall(pkg, _workspace, { dependencies }) {
  if (isApp(pkg)) return []
  const linked = new Set([...Object.keys(pkg.manifest.dependencies ?? {}), ...Object.keys(dependencies)])
  return everyImport(pkg, (file, { specifier, line }) => {
    const name = packageName(specifier)
    if (!file.ships || linked.has(name) || !(name in (pkg.manifest.peerDependencies ?? {}))) return
    const message = `imports ${name}, which npm start does not install: add it to the dependencies of the repository's package.json`
    return { file, line, message }
  })
}

/** The dashboard and the client import only types of the server: one value import would put the whole server into the page. */
function serverTypes(pkg) {
  if (!['apps/web', 'packages/client'].includes(pkg.folder)) return []
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

/** Node may drop a timeout that is one of several signals. A file that combines signals makes none, but with `anySignal`. */
function lostTimeouts(pkg) {
  const combining = pkg.files.filter(file => file.ships && file.path !== ANY_SIGNAL_FILE)
  return combining.flatMap(file => {
    const combined = [...file.code.matchAll(/\bAbortSignal\s*\.\s*any\b/g)]
    const mayLose = pkg.folder === 'packages/runner' || /\bAbortSignal\s*\.\s*timeout\b/.test(file.code)
    return (mayLose ? combined : []).map(({ index }) => ({
      file,
      line: lineAt(file.code, index),
      message: `may lose a timeout among its signals: use anySignal of ${ANY_SIGNAL_FILE}, or a timer of its own`,
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
 * Programs are started in one file: without a free file descriptor Node's child has no streams, and its error event ends
 * the process of whoever does not listen yet.
 */
function programStarts(pkg) {
  if (!/^(packages|apps)\//.test(pkg.folder) || FOR_TESTS.includes(pkg.folder)) return []
  return everyImport(pkg, (file, { specifier, line, clause }) => {
    if (!file.ships || START_FILES.includes(file.path) || isTypeImport(clause)) return
    if (!/^(node:)?(child_process|cluster)$/.test(specifier)) return
    return { file, line, message: `imports ${specifier}: take startProgram or runHelper of the runner` }
  })
}

/**
 * Files are opened by the careful reader: a project can have a link to /dev/zero or a FIFO in the place of any of them.
 * What opens files by itself is in the table with its reason, and what no longer does is not.
 */
function fileReads(pkg) {
  if (!/^(packages|apps)\//.test(pkg.folder) || FOR_TESTS.includes(pkg.folder)) return []
  const files = pkg.files.filter(file => file.ships && file.path !== CAREFUL_READER)
  return files.flatMap(file => {
    const reads = [
      ...file.imports.filter(({ specifier, clause }) => FS.test(specifier) && opensFiles(clause)),
      ...(LOADERS.test(file.code) ? file.texts.filter(({ text }) => FS.test(text)) : []),
    ]
    const isListed = file.path in FILE_READERS
    if (isListed && reads.length === 0)
      return [
        { file, line: 1, message: 'opens no file: take it out of .scripts/boundaries/file-readers.mjs' },
      ]
    if (isListed) return []
    const message = `opens files by itself: take ${CAREFUL_READER}, or say in .scripts/boundaries/file-readers.mjs why not`
    return reads.map(({ line }) => ({ file, line, message }))
  })
}

/** Ways to a module that are no import. */
const LOADERS = /\b(?:createRequire|getBuiltinModule|binding)\b/
const FS = /^(?:node:)?fs(?:\/promises)?$/

/** Names one of these, or the whole module. */
function opensFiles(clause) {
  if (isTypeImport(clause)) return false
  const named = /\{([^}]*)\}/.exec(clause)?.[1]
  if (named === undefined || /^import\s+(?!\{)/.test(clause))
    return /\S/.test(clause.replace(/^import\s*['"]?$/, ''))
  return named.split(',').some(name => READS.has(name.trim().split(/\s/)[0]))
}

const READS = new Set([
  'readFile',
  'readFileSync',
  'open',
  'openSync',
  'openAsBlob',
  'createReadStream',
  'copyFile',
  'copyFileSync',
  'cp',
  'cpSync',
  'promises',
])

/**
 * What is written anew, appended or locked goes through packages/disk: copies of the same mechanism had other guarantees, and
 * one lost what another process wrote. What is in the table with its reason may, and what no longer needs to is not there.
 */
function diskWrites(pkg) {
  if (!isNode(pkg) || pkg.folder === DISK_FOLDER) return []
  return pkg.files
    .filter(file => file.ships)
    .flatMap(file => {
      const named = file.imports.filter(({ specifier, clause }) => FS.test(specifier) && RENAMES.test(clause))
      const lines = named.map(({ line }) => line)
      const found = [
        ...lines,
        ...[...file.code.matchAll(WRITES)].map(({ index }) => lineAt(file.code, index)),
      ]
      const isListed = file.path in DISK_WRITERS
      if (isListed && found.length === 0)
        return [
          {
            file,
            line: 1,
            message: 'writes nothing by itself: take it out of .scripts/boundaries/disk-writers.mjs',
          },
        ]
      if (isListed) return []
      const message = `renames, appends or locks by itself: take ${DISK_FOLDER}, or say in .scripts/boundaries/disk-writers.mjs why not`
      return [...new Set(found)].map(line => ({ file, line, message }))
    })
}

const RENAMES = /\b(?:rename|appendFile)(?:Sync)?\b/
/** A rename by `FileOps`, the flags of an append, and those of a lock. */
const WRITES =
  /\bops\s*\.\s*rename\b|\bO_APPEND\b|\bOPEN\s*\.\s*(?:append|appendOrCreate|create|createAppend)\b/g

/** A field that is the end of a chain of promises: most copies went on only if the task before had succeeded. */
function promiseChains(pkg) {
  if (!isNode(pkg) || pkg.folder === DISK_FOLDER) return []
  return pkg.files
    .filter(file => file.ships)
    .flatMap(file =>
      [...file.code.matchAll(CHAIN)].map(({ index }) => ({
        file,
        line: lineAt(file.code, index),
        message: `chains promises: take OneAfterTheOther or KeyedQueue of ${DISK_FOLDER}`,
      })),
    )
}

/** `this.#last = this.#last.then(…)`, `last = last.then(…)`, and `const result = last.then(task, task)`. */
const CHAIN =
  /((?:this\.#?)?\w+)\s*=\s*\1\s*\.\s*(?:then|catch|finally)\b|=\s*[\w.#]+\s*\.\s*then\(\s*(\w+),\s*\2\s*\)/g

/** The dashboard runs in a browser, which has no disk. */
function isNode({ folder }) {
  return /^(packages|apps)\//.test(folder) && folder !== 'apps/web' && !FOR_TESTS.includes(folder)
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
  // What is generated from results has their names.
  const elsewhere = pkg.files.filter(
    file => file.ships && !isOfHarness(file.path, ids) && !file.path.endsWith('.generated.ts'),
  )
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
