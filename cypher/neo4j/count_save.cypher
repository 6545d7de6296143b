// purpose: Count a save in the Build node, whose lock lets savers take turns: none can wait for another in a circle.
// columns: saves
MATCH (b:Build {id: 'build:current'})
SET b.saves = coalesce(b.saves, 0) + 1
RETURN b.saves AS saves
