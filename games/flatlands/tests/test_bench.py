"""What one move and the like cost is measured where Flatlands is played."""

from bench import micro


def test_the_costs_of_one_move_and_the_like_can_be_measured(capsys):
    costs = micro.measure(players=60, repeats=1)
    assert len(costs) == 9
    # A greenlet that fails, such as the listening one, says so there.
    assert capsys.readouterr().err == ""
    # A gem and a seal are differences, which a busy machine may make negative.
    differences = ("a gem that is taken", "a message's seal, made and checked")
    # Where CPU time is limited (ulimit -t) the kernel counts it in ticks: what is short costs 0.
    assert all(cost >= 0 for what, cost in costs.items() if what not in differences)
    assert costs["a walk"] > 0
