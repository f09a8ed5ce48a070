import { Link } from '@tanstack/react-router'
import { Empty } from '../ui/marks/Empty.tsx'

export function NotFound() {
  return (
    <Empty page title="There is no such page">
      <Link to="/">To the start page</Link>
    </Empty>
  )
}
