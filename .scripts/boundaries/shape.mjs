// The limits on the shape of the sources. What is over a limit today stands in known.json, which can only shrink.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { LIMITS, measure, onCycle } from './figures.mjs'

const KNOWN_FILE = '.scripts/boundaries/known.json'
const SHRINK = 'node .scripts/check-boundaries.mjs --shrink'

/** Everything over its limit that known.json does not list, and everything listed there that holds its limit by now. */
export function shapeViolations(workspace, root) {
  const known = readKnown(root)
  const figures = measure(workspace)
  const { packages } = figures
  return [
    ...packages.flatMap(pkg => tooLarge(pkg.functions, 'lines', LIMITS.functionLines, known.functions)),
    ...packages.flatMap(pkg => tooLarge(pkg.classes, 'fields', LIMITS.classFields, known.classes)),
    ...packages.flatMap(pkg => sameNames(pkg, known)),
    ...namesOfSeveralPackages(figures, known),
    ...packages.flatMap(pkg => folderCycles(pkg, known)),
    ...packages.flatMap(pkg => floatingComments(pkg, known)),
    ...packages.flatMap(pkg => literalSpreads(pkg, known)),
    ...staleEntries(known, shrunk(known, figures), root),
  ]
}

function tooLarge(all, unit, limit, known) {
  return all.flatMap(({ file, line, name, [unit]: size }) => {
    const allowed = known[name] ?? limit
    return size > allowed
      ? [{ file, line, message: `${name} has ${size} ${unit}: ${allowed} is the cap` }]
      : []
  })
}

function sameNames({ exported }, known) {
  return [...exported].flatMap(([name, [first, ...others]]) =>
    known.names.includes(name)
      ? []
      : others.map(file => ({
          file,
          line: 1,
          message: `exports ${name}, as ${first.path} does: one name, one thing`,
        })),
  )
}

function namesOfSeveralPackages({ shared }, known) {
  const allowed = Math.max(known.namesOfSeveralPackages, LIMITS.namesOfSeveralPackages)
  if (shared.size <= allowed) return []
  const message = `${shared.size} names are exported by files of more than one package, ${allowed} are allowed: --figures lists them`
  return [{ file: { path: KNOWN_FILE }, line: 1, message }]
}

function folderCycles({ edges }, known) {
  const cyclic = onCycle(edges.filter(({ name }) => !known.folderImports.includes(name)))
  return cyclic.map(({ name, imports: [{ file, line }] }) => ({
    file,
    line,
    message: `folder cycle: ${name}`,
  }))
}

function floatingComments({ folder, comments }, known) {
  const allowed = Math.max(known.floatingComments[folder] ?? 0, LIMITS.floatingComments)
  const floating = comments.filter(comment => comment.floating)
  if (shareOf(floating, comments) <= allowed) return []
  const [{ file, line }] = floating
  const share = shareOf(floating, comments)
  const message = `${share} % of the doc comments of ${folder} begin with What, Who, Of, Those, As, By or That, ${allowed} % may: name the subject first`
  return [{ file, line, message }]
}

function literalSpreads({ folder, spreads }, known) {
  const allowed = known.literalSpreads[folder] ?? 0
  if (spreads.length <= allowed) return []
  const [{ file, line }] = spreads
  return [
    {
      file,
      line,
      message: `${folder} spreads ${spreads.length} object literals, ${allowed} may be: write their properties`,
    },
  ]
}

function shareOf(some, all) {
  return all.length === 0 ? 0 : Math.round((some.length / all.length) * 1000) / 10
}

/** Entries of known.json that nothing needs any more. Sizes that only went down stay allowed until somebody shrinks the list. */
function staleEntries(known, needed, root) {
  if (!existsSync(path.join(root, KNOWN_FILE))) return []
  const names = lists =>
    Object.entries(lists).flatMap(([list, entries]) => keysOf(entries).map(key => `${list}: ${key}`))
  const still = new Set(names(needed))
  const stale = names(known).filter(entry => !still.has(entry))
  return stale.map(entry => ({
    file: { path: KNOWN_FILE },
    line: 1,
    message: `no longer needs ${entry}: ${SHRINK}`,
  }))
}

function keysOf(entries) {
  if (Array.isArray(entries)) return entries
  return typeof entries === 'object' ? Object.keys(entries) : []
}

/** Takes out of known.json what holds its limit, and lowers the numbers of the rest. It never adds. */
export function shrinkKnown(workspace, root) {
  const needed = shrunk(readKnown(root), measure(workspace))
  writeFileSync(path.join(root, KNOWN_FILE), `${JSON.stringify(needed, undefined, 2)}\n`)
}

function shrunk(known, { packages, shared }) {
  const sizes = (entries, key, unit, limit) =>
    lowered(
      entries,
      name =>
        Math.max(
          0,
          ...packages.flatMap(pkg => pkg[key]).flatMap(one => (one.name === name ? [one[unit]] : [])),
        ),
      limit,
    )
  const ofPackage = (entries, figure, limit) =>
    lowered(entries, folder => packages.filter(pkg => pkg.folder === folder).map(figure)[0] ?? 0, limit)
  const isTwice = name => packages.some(({ exported }) => (exported.get(name)?.length ?? 0) > 1)
  return {
    functions: sizes(known.functions, 'functions', 'lines', LIMITS.functionLines),
    classes: sizes(known.classes, 'classes', 'fields', LIMITS.classFields),
    names: known.names.filter(isTwice),
    namesOfSeveralPackages: Math.max(
      LIMITS.namesOfSeveralPackages,
      Math.min(known.namesOfSeveralPackages, shared.size),
    ),
    folderImports: neededCuts(
      known.folderImports,
      packages.flatMap(({ edges }) => edges),
    ),
    floatingComments: ofPackage(
      known.floatingComments,
      ({ comments }) =>
        shareOf(
          comments.filter(({ floating }) => floating),
          comments,
        ),
      LIMITS.floatingComments,
    ),
    literalSpreads: ofPackage(known.literalSpreads, ({ spreads }) => spreads.length, 0),
  }
}

function lowered(entries, figureOf, limit) {
  const figures = Object.entries(entries).map(([name, allowed]) => [name, Math.min(allowed, figureOf(name))])
  return Object.fromEntries(figures.filter(([, figure]) => figure > limit))
}

/** The cuts without which there would be a cycle, each tried with the ones before it still uncut where they may be. */
function neededCuts(cuts, edges) {
  const kept = new Set(cuts)
  for (const cut of cuts) {
    const others = edges.filter(({ name }) => name === cut || !kept.has(name))
    if (!onCycle(others).some(({ name }) => name === cut)) kept.delete(cut)
  }
  return [...kept]
}

function readKnown(root) {
  const file = path.join(root, KNOWN_FILE)
  const none = { functions: {}, classes: {}, names: [], namesOfSeveralPackages: 0, folderImports: [] }
  const listed = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  return { ...none, floatingComments: {}, literalSpreads: {}, ...listed }
}

/** A table of all packages, and below it each thing over a limit; with `only`, those of one package. */
export function printFigures(workspace, only) {
  const { packages, shared } = measure(workspace)
  const shown = packages.filter(({ folder }) => only === undefined || folder === only)
  if (shown.length === 0)
    throw new Error(`${only} is no package; there are ${packages.map(({ folder }) => folder).join(', ')}`)
  const rows = shown.map(pkg => rowOf(pkg))
  console.table(Object.fromEntries(rows))
  for (const pkg of shown) for (const line of overLimit(pkg)) console.log(line)
  const names = [...shared].filter(([, folders]) => only === undefined || folders.includes(only))
  console.log(`\n${names.length} names are exported by files of more than one package:`)
  for (const [name, folders] of names) console.log(`  ${name}: ${folders.join(', ')}`)
}

function rowOf(pkg) {
  const floating = pkg.comments.filter(comment => comment.floating)
  const twice = [...pkg.exported.values()].filter(files => files.length > 1)
  const row = {
    files: pkg.files,
    lines: pkg.lines,
    [`functions > ${LIMITS.functionLines}`]: pkg.functions.filter(({ lines }) => lines > LIMITS.functionLines)
      .length,
    [`classes > ${LIMITS.classFields}`]: pkg.classes.filter(({ fields }) => fields > LIMITS.classFields)
      .length,
    'names twice': twice.length,
    'folder cycles': onCycle(pkg.edges).length,
    'floating %': shareOf(floating, pkg.comments),
    '...{ a }': pkg.spreads.length,
    '...(a ? {} : b)': pkg.guarded.length,
  }
  return [pkg.folder, row]
}

function overLimit(pkg) {
  const place = ({ file, line }) => `${file.path}:${line}`
  const large = (all, unit, limit) =>
    all.flatMap(one => (one[unit] > limit ? [`${place(one)} ${one.name} has ${one[unit]} ${unit}`] : []))
  return [
    ...large(pkg.functions, 'lines', LIMITS.functionLines),
    ...large(pkg.classes, 'fields', LIMITS.classFields),
    ...[...pkg.exported].flatMap(([name, files]) =>
      files.length > 1 ? [`${name} is exported by ${files.map(file => file.path).join(' and ')}`] : [],
    ),
    ...onCycle(pkg.edges).map(
      ({ name, imports }) => `${place(imports[0])} folder cycle: ${name} (${imports.length} imports)`,
    ),
    ...pkg.comments.flatMap(one => (one.floating ? [`${place(one)} floating beginning`] : [])),
    ...pkg.spreads.map(one => `${place(one)} literal spread`),
    ...pkg.guarded.map(one => `${place(one)} guarded spread`),
  ]
}
