import path from 'node:path'
import type { Plugin, Rolldown } from 'vite'

/** The module that the page's own script imports at once. */
const START = path.join(import.meta.dirname, 'src/app/Start.tsx')
/** Modules of the core package that only drawing needs: the package has one door, so imports do not tell who uses what. */
const DRAWN =
  /core[\\/]src[\\/](harness[\\/]versions|native[\\/]loose|rules[\\/](command-risks|shell-commands)|session[\\/]session|translate[\\/](shared|tool-facts|tool-shapes)|words[\\/](choices|secret-fields))\.ts$/
/** Tells V8 to compile all of a file while it is fetched, on another thread: nearly all of it runs for the first screen. */
const COMPILE_AT_ONCE = '//# allFunctionsCalledOnLoad\n'

type BuiltFile = Rolldown.OutputChunk | Rolldown.OutputAsset

/**
 * Puts what the first screen needs into one file, which the page names beside its own small script: both are fetched at the
 * same time, and the small one asks the server for the sessions while the large one is still on its way.
 */
export function startFile(): { plugin: Plugin; isPart(id: string): boolean } {
  const parts = new Set<string>()
  const plugin: Plugin = {
    name: 'start-file',
    apply: 'build',
    buildEnd() {
      const reach = (id: string, into: Set<string>): Set<string> => {
        if (into.has(id)) return into
        into.add(id)
        for (const imported of this.getModuleInfo(id)?.importedIds ?? []) reach(imported, into)
        return into
      }
      const ids = [...this.getModuleIds()]
      const early = new Set<string>()
      for (const id of ids) if (this.getModuleInfo(id)?.isEntry) reach(id, early)
      parts.clear()
      if (!ids.includes(START)) return
      for (const id of reach(START, new Set())) if (!early.has(id) || DRAWN.test(id)) parts.add(id)
    },
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle = {} }) {
        const start = Object.values(bundle).find(file => isChunk(file) && file.moduleIds.includes(START))
        const chunks = start ? withImports(start.fileName, bundle) : []
        const styles = chunks.flatMap(({ viteMetadata }) => [...(viteMetadata?.importedCss ?? [])])
        return [
          ...styles.map(name => ({ rel: 'stylesheet', href: `/${name}` })),
          ...chunks.map(({ fileName }) => ({ rel: 'modulepreload', href: `/${fileName}` })),
        ]
          .filter(({ href }) => !html.includes(href))
          .map(attrs => ({ tag: 'link', attrs: { ...attrs, crossorigin: true }, injectTo: 'head' }))
      },
    },
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        for (const chunk of Object.values(bundle).filter(isChunk)) {
          const isStart = chunk.moduleIds.includes(START)
          if (isStart && !isInOrder(chunk, this.getModuleInfo(START)?.importedIds ?? []))
            this.error(
              `The styles of ${START} are out of order: of what is imported late it must be the first by its path.`,
            )
          if (isStart || chunk.isEntry) chunk.code = COMPILE_AT_ONCE + chunk.code
          if (
            chunk.isEntry &&
            withImports(chunk.fileName, bundle).some(({ moduleIds }) => moduleIds.includes(START))
          )
            this.error(
              `The page's script must not wait for what draws: it imports a module of ${START} (or of ${DRAWN}).`,
            )
        }
      },
    },
  }
  return { plugin, isPart: id => parts.has(id) }
}

function isChunk(file: BuiltFile): file is Rolldown.OutputChunk {
  return file.type === 'chunk'
}

/** The styles of parts, which START imports itself, come before all others. The last two are its own for the whole page. */
function isInOrder({ moduleIds }: Rolldown.OutputChunk, imported: readonly string[]): boolean {
  const parts = imported.filter(isStyle).slice(0, -2)
  const styles = moduleIds.filter(isStyle)
  return parts.every((id, index) => styles[index] === id)
}

function isStyle(id: string): boolean {
  return id.endsWith('.css')
}

/** The chunk and all that it imports at once. */
function withImports(name: string, bundle: Rolldown.OutputBundle, found: Rolldown.OutputChunk[] = []) {
  const chunk = bundle[name]
  if (!chunk || !isChunk(chunk) || found.includes(chunk)) return found
  found.push(chunk)
  for (const imported of chunk.imports) withImports(imported, bundle, found)
  return found
}
