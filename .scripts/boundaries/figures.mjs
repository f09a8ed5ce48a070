// Measures the shape of shipped source files: functions, classes, exported names, doc comments, spreads and folder cycles.
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

// Vite brings this parser: a pin of our own could differ from the one that builds the page.
const ofVite = createRequire(createRequire(import.meta.url).resolve('vite'))
const { parseSync } = await import(pathToFileURL(ofVite.resolve('rolldown/utils')).href)

export const LIMITS = {
  functionLines: 80,
  classFields: 12,
  namesOfSeveralPackages: 30,
  /** Share of the doc comments of a package, in percent. */
  floatingComments: 8,
}

/** Such a beginning makes a reader ask "of what?" or "which ones?" before anything was said. */
const FLOATING = /^(?:What|Who|Of|Those|As|By|That)\b/

/** Measures every package; see `measurePackage`. `shared` has the names that files of several packages export. */
export function measure(workspace) {
  const packages = workspace.map(measurePackage)
  const byName = new Map()
  for (const { folder, exported } of packages)
    for (const name of exported.keys()) byName.set(name, [...(byName.get(name) ?? []), folder])
  return { packages, shared: new Map([...byName].filter(([, folders]) => folders.length > 1)) }
}

/**
 * `functions` and `classes` are all of them, with their size. `exported` maps a name to the files that declare and export
 * it. `edges` are imports between sibling folders. `spreads` are the places of `...{ a }`, `guarded` of `...(a ? {} : { a })`.
 */
function measurePackage(pkg) {
  const files = pkg.files.filter(isMeasured)
  const shapes = files.map(file => ({ file, ...shapeOf(file) }))
  const all = key => shapes.flatMap(({ file, [key]: found }) => found.map(one => ({ file, ...one })))
  const exported = new Map()
  for (const { file, exports } of shapes)
    for (const name of exports) exported.set(name, [...(exported.get(name) ?? []), file])
  return {
    folder: pkg.folder,
    files: files.length,
    lines: files.reduce((sum, file) => sum + file.lines, 0),
    functions: all('functions'),
    classes: all('classes'),
    comments: all('comments'),
    spreads: all('spreads'),
    guarded: all('guarded'),
    exported,
    edges: folderEdges(pkg, files),
  }
}

function isMeasured(file) {
  return file.ships && /\.tsx?$/.test(file.path) && !/\.(?:generated|d)\.ts$/.test(file.path)
}

function shapeOf(file) {
  const { program, comments } = parseSync(path.basename(file.path), file.source, { preserveParens: false })
  const line = lineCounter(file.source)
  const found = { functions: [], classes: [], exports: [], spreads: [], guarded: [] }
  visit(program, undefined)
  return { ...found, exports: exportsOf(program), comments: docComments() }

  function visit(node, name) {
    if (FUNCTIONS.has(node.type) && node.body) {
      const lines = line(node.end) - line(node.start) + 1
      found.functions.push({ name: node.id?.name ?? name ?? 'function', line: line(node.start), lines })
    }
    if (node.type === 'ClassDeclaration' || node.type === 'ClassExpression')
      found.classes.push({
        name: node.id?.name ?? name ?? 'class',
        line: line(node.start),
        fields: fieldsOf(node),
      })
    const spread =
      node.type === 'SpreadElement' || node.type === 'JSXSpreadAttribute' ? node.argument : undefined
    if (spread?.type === 'ObjectExpression') found.spreads.push({ line: line(node.start) })
    if (spread?.type === 'ConditionalExpression' && [spread.consequent, spread.alternate].some(isEmptyObject))
      found.guarded.push({ line: line(node.start) })
    for (const key in node) {
      const value = node[key]
      if (Array.isArray(value)) for (const child of value) child?.type && visit(child, nameOf(child, name))
      else if (value?.type) visit(value, nameOf(node, name))
    }
  }

  function docComments() {
    const docs = comments.filter(({ type, value }) => type === 'Block' && value.startsWith('*'))
    return docs.map(({ value, start }) => ({
      line: line(start),
      floating: FLOATING.test(value.replace(/^[*\s]+/, '')),
    }))
  }
}

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** The name that a function or class without one of its own gets from its variable, property or method. */
function nameOf(node, outer) {
  if (node.type === 'VariableDeclarator') return node.id.name ?? outer
  if (/^(?:MethodDefinition|PropertyDefinition|Property)$/.test(node.type)) return node.key.name ?? outer
  return outer
}

function isEmptyObject(node) {
  return node.type === 'ObjectExpression' && node.properties.length === 0
}

/** State that an instance holds; a field that is a function is behaviour. */
function fieldsOf({ body }) {
  const fields = body.body.filter(
    member => member.type === 'PropertyDefinition' && !member.static && !FUNCTIONS.has(member.value?.type),
  )
  return fields.length
}

/** Names that the file itself declares; what an index passes on has its home elsewhere. */
function exportsOf({ body }) {
  const declared = body.flatMap(node => {
    if (node.type !== 'ExportNamedDeclaration' || node.declaration === null) return []
    const { declaration } = node
    if (declaration.type !== 'VariableDeclaration') return [declaration.id.name]
    return declaration.declarations.flatMap(({ id }) => id.name ?? [])
  })
  return new Set(declared)
}

/** The imports of one folder by its sibling, as { from, to, name, imports }: folder paths, and each import with its file. */
function folderEdges(pkg, files) {
  const edges = new Map()
  for (const file of files)
    for (const { specifier, line } of file.imports) {
      const target = path.posix.join(path.posix.dirname(file.path), specifier)
      const pair = /^\.\.?\//.test(specifier) ? siblings(file.path, target) : undefined
      if (pair === undefined || !target.startsWith(`${pkg.folder}/src/`)) continue
      const name = pair.join(' -> ')
      const edge = edges.get(name) ?? { from: pair[0], to: pair[1], name, imports: [] }
      edge.imports.push({ file, line })
      edges.set(name, edge)
    }
  return [...edges.values()]
}

/** The two folders beside each other that two files are in; none if one of the files is beside the folder of the other. */
function siblings(from, to) {
  const [a, b] = [from.split('/'), to.split('/')]
  let same = 0
  while (a[same] === b[same] && same < a.length) same += 1
  if (same >= a.length - 1 || same >= b.length - 1) return undefined
  return [a.slice(0, same + 1).join('/'), b.slice(0, same + 1).join('/')]
}

/** The edges of `edges` from whose end a way leads back to their beginning. */
export function onCycle(edges) {
  return edges.filter(({ from, to }) => {
    const seen = new Set([to])
    for (const folder of seen) for (const edge of edges) if (edge.from === folder) seen.add(edge.to)
    return seen.has(from)
  })
}

function lineCounter(source) {
  const starts = [0]
  for (let at = source.indexOf('\n'); at !== -1; at = source.indexOf('\n', at + 1)) starts.push(at + 1)
  return index => {
    let [low, high] = [0, starts.length]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (starts[middle] <= index) low = middle
      else high = middle
    }
    return low + 1
  }
}
