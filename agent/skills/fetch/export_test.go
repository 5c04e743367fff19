package fetch

// Weigh is weigh.
var Weigh = weigh

// Walk is walk.
var Walk = walk
