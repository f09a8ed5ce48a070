import './diff.css'

/** `+3 −1`, always in the same order; a side without lines is left out. */
export function DiffCount({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="number diff-count">
      {added > 0 ? <span className="diff-count__add">{`+${added}`}</span> : null}
      {removed > 0 ? <span className="diff-count__del">{`−${removed}`}</span> : null}
    </span>
  )
}
