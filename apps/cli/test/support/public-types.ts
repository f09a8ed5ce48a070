import path from 'node:path'
import ts from 'typescript-5'

export interface PublicPackage {
  name: string
  /** Where it is installed. */
  folder: string
  /** As its manifest has them. */
  exports: Record<string, Record<string, string>>
}

export interface PublicTypes {
  /** By entry point, all names that it exports. */
  names: Map<string, string[]>
  /**
   * Types that stand in a signature which a package exports, at whatever depth, and that no entry point of the package
   * they come from exports: nobody outside can write their names.
   */
  unnamed: string[]
}

export function publicTypes(packages: readonly PublicPackage[]): PublicTypes {
  const options = { module: ts.ModuleKind.NodeNext, noLib: true, types: [] }
  const program = ts.createProgram(
    packages.flatMap(entriesOf).map(([, entry]) => entry),
    options,
    ownModulesOnly(options, packages),
  )
  const checker = program.getTypeChecker()
  const resolved = (symbol: ts.Symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const exported = new Set<ts.Symbol>()
  const constructible = new Set<ts.Symbol>()
  const names = new Map<string, string[]>()
  for (const [specifier, entry] of packages.flatMap(entriesOf)) {
    const file = program.getSourceFile(entry)
    const module = file && checker.getSymbolAtLocation(file)
    if (module === undefined) throw new Error(`${entry} is no module`)
    const symbols = checker.getExportsOfModule(module)
    names.set(
      specifier,
      symbols.map(({ name }) => name),
    )
    for (const symbol of symbols) {
      exported.add(resolved(symbol))
      if (!symbol.declarations?.some(ts.isTypeOnlyExportDeclaration)) constructible.add(resolved(symbol))
    }
  }
  const homeOf = (node: ts.Node) =>
    packages.find(({ folder }) => node.getSourceFile().fileName.startsWith(`${folder}${path.sep}`))
  const seen = new Set(exported)
  const unnamed = new Set<string>()
  const visit = (node: ts.Node): void => {
    // Of a class that is exported as a type alone, nobody outside calls the constructor.
    if (ts.isConstructorDeclaration(node)) {
      const owner = checker.getSymbolAtLocation((node.parent as ts.ClassDeclaration).name ?? node.parent)
      if (owner === undefined || !constructible.has(owner)) return
    }
    const name = nameIn(node)
    const symbol = name && checker.getSymbolAtLocation(name)
    if (symbol !== undefined) meet(resolved(symbol))
    ts.forEachChild(node, visit)
  }
  const meet = (symbol: ts.Symbol): void => {
    if (seen.has(symbol) || !(symbol.flags & NAMED)) return
    seen.add(symbol)
    const [declaration] = symbol.declarations ?? []
    const home = declaration && homeOf(declaration)
    if (declaration === undefined || home === undefined) return
    const file = path.relative(home.folder, declaration.getSourceFile().fileName)
    unnamed.add(`${home.name}: ${symbol.name} (${file})`)
    for (const part of symbol.declarations ?? []) visit(part)
  }
  for (const symbol of exported)
    for (const declaration of symbol.declarations ?? []) if (homeOf(declaration)) visit(declaration)
  return { names, unnamed: [...unnamed].sort() }
}

const NAMED = ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Class | ts.SymbolFlags.Enum

/** What others declare says nothing about the names of ours, and takes far longer to read. */
function ownModulesOnly(options: ts.CompilerOptions, packages: readonly PublicPackage[]): ts.CompilerHost {
  const host = ts.createCompilerHost(options)
  host.resolveModuleNameLiterals = (literals, containing) =>
    literals.map(({ text }) => {
      const own = text.startsWith('.')
        ? path.resolve(path.dirname(containing), text.replace(/\.[jt]s$/, '.d.ts'))
        : entryOf(text, packages)
      if (own === undefined) return { resolvedModule: undefined }
      return { resolvedModule: { resolvedFileName: own, extension: ts.Extension.Dts } }
    })
  return host
}

function entryOf(specifier: string, packages: readonly PublicPackage[]): string | undefined {
  return packages.flatMap(entriesOf).find(([name]) => name === specifier)?.[1]
}

/** How each entry point is imported, and its declaration file. */
function entriesOf({ name, folder, exports }: PublicPackage): [string, string][] {
  return Object.entries(exports).map(([entry, { types = '' }]) => [
    path.posix.join(name, entry),
    path.join(folder, types),
  ])
}

function nameIn(node: ts.Node): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName
  if (ts.isExpressionWithTypeArguments(node)) return node.expression
  if (ts.isImportTypeNode(node) && node.qualifier !== undefined && !node.isTypeOf) return node.qualifier
  return undefined
}
