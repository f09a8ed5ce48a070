import type { RawItem } from './raw-item.ts'

/**
 * Every word must be in the event or line; a word that begins with `-` must not; one that begins with `type:` is looked for
 * in its type alone.
 */
export function filterItems<T extends RawItem>(items: readonly T[], filter: string): readonly T[] {
  const wanted = filter.toLowerCase().split(/\s+/).flatMap(parseWord)
  if (wanted.length === 0) return items
  return items.filter(item =>
    wanted.every(({ word, inType, isWanted }) => {
      const hay = inType ? item.type.toLowerCase() : hayOf(item)
      return hay.includes(word) === isWanted
    }),
  )
}

const TYPE = 'type:'

function parseWord(text: string): { word: string; inType: boolean; isWanted: boolean }[] {
  const isWanted = !(text.length > 1 && text.startsWith('-'))
  const rest = isWanted ? text : text.slice(1)
  const inType = rest.startsWith(TYPE)
  const word = inType ? rest.slice(TYPE.length) : rest
  return word === '' ? [] : [{ word, inType, isWanted }]
}

/** Lower case is made once for each, not with every letter that is typed. */
const hays = new WeakMap<RawItem, string>()

function hayOf(item: RawItem): string {
  const known = hays.get(item)
  if (known !== undefined) return known
  const hay = `${item.type} ${item.text}`.toLowerCase()
  hays.set(item, hay)
  return hay
}
